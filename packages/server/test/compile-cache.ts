import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const FOLDER = fileURLToPath(new URL('../../../node_modules/.cache/waxwing-tests', import.meta.url))
const PROGRAM = fileURLToPath(new URL('../bin/waxwing.js', import.meta.url))

/**
 * For processes that tests start: Node.js keeps there what it has compiled, by content, so that each of them starts
 * quickly. A process that is killed stores nothing.
 */
export const COMPILE_CACHE = { NODE_COMPILE_CACHE: FOLDER }

/**
 * Fills the cache with the whole service, unless an earlier run did. Compiled code holds for one set of options of
 * V8, and `serve` has its own.
 */
export function fillCompileCache(): void {
  if (existsSync(FOLDER)) return
  for (const args of [['--version'], ['serve', '--help']])
    spawnSync(process.execPath, [PROGRAM, ...args], { env: COMPILE_CACHE, stdio: 'ignore' })
}

/** For processes that run a copy of the service, which no later one finds in the cache. */
export const NO_COMPILE_CACHE = { NODE_DISABLE_COMPILE_CACHE: '1' }
