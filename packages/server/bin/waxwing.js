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

const { run } = await import('../src/cli/main.ts')
await run(process.argv)
