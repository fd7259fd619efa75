#!/usr/bin/env node
// Starts the program, which is in the package of this platform.
'use strict'
const { spawn } = require('node:child_process')

const platform = `${process.platform}-${process.arch}`
let program
try {
  program = require.resolve(`mcpkg-cli-${platform}/bin/mcpkg${process.platform === 'win32' ? '.exe' : ''}`)
} catch {
  console.error(`error: the package of mcpkg for ${platform} is not installed
hint: if mcpkg supports this platform, install it with its optional dependencies: npm install -g --include=optional mcpkg-cli`)
  process.exit(1)
}

const child = spawn(program, process.argv.slice(2), { stdio: 'inherit' })
// A terminal sends these to both. This program stays until the other has ended.
for (const signal of ['SIGINT', 'SIGQUIT']) process.on(signal, () => {})
for (const signal of ['SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal))
child.on('error', (error) => {
  console.error(`error: cannot start ${program}: ${error.message}`)
  process.exit(1)
})
child.on('exit', (code, signal) => {
  if (signal === null) process.exit(code)
  process.removeAllListeners(signal)
  process.kill(process.pid, signal)
})
