#!/usr/bin/env node
// Plain JavaScript that older Node.js runs too, so that it can say what is missing.
import { existsSync } from 'node:fs'

const wanted = 24
const [major] = process.versions.node.split('.').map(Number)
// A clone holds TypeScript, and a package JavaScript.
const isClone = existsSync(new URL('../src', import.meta.url))

if (major < wanted) {
  process.stderr.write(
    `Waxwing needs Node.js ${wanted} or newer; this is ${process.version}.\n` +
      (isClone
        ? 'On Linux, "npm start" in the folder of your clone installs a newer one there, beside everything else that is\n' +
          'missing, and uses it; then "npx waxwing …" does, too. On other systems, install Node.js from https://nodejs.org.\n'
        : 'On Linux, npm has installed a newer one beside Waxwing. "npx waxwing …" uses it, in the folder of your\n' +
          '"npm install @waxwing/server"; elsewhere "npx @waxwing/server …" does. On other systems, or if you installed with\n' +
          '"--global" or without optional dependencies, install Node.js from https://nodejs.org.\n'),
  )
  process.exit(1)
}

// V8 and glibc read these only when a process starts, so the service starts itself again with them, as the same process.
// By default V8 lets young objects fill 128 MB, and at quiet times it gives them so little space that it collects all the
// time; it lets the heap grow to a multiple of what is used before it collects that; glibc keeps freed memory for each
// thread, mostly unused. A value that the user sets wins. NODE_OPTIONS does not take the arguments.
const youngSpaceMax = '--max-semi-space-size=16'
const youngSpaceMin = '--min-semi-space-size=16'
const heapGrowth = '--heap-growing-percent=75'
const isTuned = process.execArgv.some(argument => argument.startsWith('--min-semi-space-size'))
const [command = 'serve', ...options] = process.argv.slice(2)
if (command === 'serve' && process.platform !== 'win32' && !isTuned) {
  const { NODE_OPTIONS = '' } = process.env
  process.execve(
    process.execPath,
    [process.execPath, youngSpaceMin, heapGrowth, ...process.execArgv, process.argv[1], command, ...options],
    { MALLOC_ARENA_MAX: '1', ...process.env, NODE_OPTIONS: `${youngSpaceMax} ${NODE_OPTIONS}` },
  )
}

const { run } = await import(isClone ? '../src/cli/main.ts' : '../dist/cli/main.js')
await run([...process.argv.slice(0, 2), command, ...options])
