import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import path from 'node:path'
import { bundledProgram, BUNDLE_VARIABLE, COMMAND_LINE } from './bundled-program.ts'

const FOLDER = path.resolve(import.meta.dirname, '../../../node_modules/.cache/waxwing-tests/compiled')

/**
 * For processes that tests start: Node.js keeps there what it has compiled, by place and content, so that each of them
 * starts quickly. It lies in the bundle, if there is one, and is removed with it. A process that is killed stores nothing.
 */
export function compileCache(): { NODE_COMPILE_CACHE: string } {
  const bundle = process.env[BUNDLE_VARIABLE]
  return { NODE_COMPILE_CACHE: bundle === undefined ? FOLDER : path.join(bundle, 'compiled') }
}

/**
 * Fills the cache with the whole service, unless an earlier run did. Compiled code holds for one set of options of
 * V8, and `serve` has its own.
 */
export function fillCompileCache(): void {
  const env = compileCache()
  if (existsSync(env.NODE_COMPILE_CACHE)) return
  for (const args of [['--version'], ['serve', '--help']])
    spawnSync(process.execPath, [bundledProgram(COMMAND_LINE), ...args], { env, stdio: 'ignore' })
}

/** For processes that run a copy of the service, which no later one finds in the cache. */
export const NO_COMPILE_CACHE = { NODE_DISABLE_COMPILE_CACHE: '1' }
