#!/usr/bin/env node
// The published package has JavaScript only. In the repository, Node runs the source as it is.
import { existsSync } from 'node:fs'

const isBuilt = !existsSync(new URL('../src/cli.ts', import.meta.url))
const { run } = await import(isBuilt ? '../dist/cli.js' : '../src/cli.ts')
await run(process.argv.slice(2), process.env)
