import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { copyFile, mkdir, mkdtemp, readFile, rename, rm } from 'node:fs/promises'
import path from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)
const SOURCE = path.join(import.meta.dirname, 'foreign')
const CACHE = '/var/cache/waxwing-test'
const NPM_ARGS = ['ci', '--ignore-scripts', '--no-audit', '--no-fund']

/** Names of this machine's processor, as the platform packages have them. */
const CPU = { x64: 'x64', arm64: 'arm64' }[process.arch as string] ?? ''
const BUN_CPU = CPU === 'arm64' ? 'aarch64' : CPU
const WORKERD_CPU = CPU === 'x64' ? '64' : CPU

const PROGRAMS = {
  node20: `node-20-linux-${CPU}/bin/node`,
  node22: `node-22-linux-${CPU}/bin/node`,
  node26: `node-26-linux-${CPU}/bin/node`,
  deno: `@deno/linux-${CPU}-glibc/deno`,
  bun: `@oven/bun-linux-${BUN_CPU}/bin/bun`,
  workerd: `@cloudflare/workerd-linux-${WORKERD_CPU}/bin/workerd`,
  tsc54: 'typescript-5.4/bin/tsc',
  tsc59: 'typescript/bin/tsc',
  openapiTs: '@hey-api/openapi-ts/bin/run.js',
  quicktype: 'quicktype/dist/index.js',
} as const
export type ForeignProgram = keyof typeof PROGRAMS

/**
 * Installs the runtimes, compilers and generators of `foreign/package-lock.json`, which `npm ci` of this clone leaves out;
 * done in milliseconds when they are there. Their programs lie in packages for a platform; no script of them runs.
 * @returns where each program is
 */
export async function bringForeign(): Promise<Record<ForeignProgram, string>> {
  const lock = await readFile(path.join(SOURCE, 'package-lock.json'))
  const version = createHash('sha256').update(lock).digest('hex').slice(0, 16)
  const folder = path.join(CACHE, `foreign-${version}`)
  if (!existsSync(folder)) await install(folder)
  const found = Object.entries(PROGRAMS).map(([name, file]) => [
    name,
    path.join(folder, 'node_modules', file),
  ])
  return Object.fromEntries(found) as Record<ForeignProgram, string>
}

async function install(folder: string): Promise<void> {
  process.stderr.write('Installing runtimes and generators for the tests\n')
  await mkdir(CACHE, { recursive: true })
  const work = await mkdtemp(`${folder}-`)
  try {
    for (const name of ['package.json', 'package-lock.json'])
      await copyFile(path.join(SOURCE, name), path.join(work, name))
    await run('npm', NPM_ARGS, { cwd: work, maxBuffer: 1 << 26 })
    // Another run that was faster leaves the same.
    await rename(work, folder).catch(error => {
      if (!existsSync(folder)) throw error
    })
  } finally {
    await rm(work, { recursive: true, force: true })
  }
}
