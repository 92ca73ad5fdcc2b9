#!/usr/bin/env node
// Plain JavaScript: the rest is TypeScript, which an older Node refuses with a riddle.
const wanted = 24
const [major] = process.versions.node.split('.').map(Number)

if (major < wanted) {
  process.stderr.write(
    `Waxwing needs Node.js ${wanted} or newer; this is ${process.version}.\n` +
      'Inside the clone run it by "npx waxwing …" or "npm start": on Linux these use the Node.js that "npm ci" brought.\n' +
      'Elsewhere install a newer one from https://nodejs.org.\n',
  )
  process.exit(1)
}

// V8 and glibc read these only when a process starts, so the service starts itself anew with them, as the same process.
// By default V8 lets young objects fill 128 MB and glibc keeps freed memory for each thread, mostly unused. Whoever sets
// either has the last word.
const youngSpace = '--max-semi-space-size=16'
const { NODE_OPTIONS = '' } = process.env
if (process.argv[2] === 'serve' && process.platform !== 'win32' && !NODE_OPTIONS.startsWith(youngSpace)) {
  process.execve(process.execPath, [process.execPath, ...process.execArgv, ...process.argv.slice(1)], {
    MALLOC_ARENA_MAX: '1',
    ...process.env,
    NODE_OPTIONS: `${youngSpace} ${NODE_OPTIONS}`,
  })
}

const { run } = await import('../src/cli/main.ts')
await run(process.argv)
