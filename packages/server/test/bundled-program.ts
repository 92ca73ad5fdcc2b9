import path from 'node:path'
import { fileURLToPath } from 'node:url'

/** Names the folder of the bundle in the environment of test files. Without it, programs run from their sources. */
export const BUNDLE_VARIABLE = 'WAXWING_TEST_BUNDLE'
export const COMMAND_LINE = fileURLToPath(new URL('../bin/waxwing.js', import.meta.url))

const here = (file: string) => path.join(import.meta.dirname, file)

/** Programs that tests start again and again, by their names in the bundle. */
export const PROGRAMS: Readonly<Record<string, string>> = {
  crashing: here('sending/crashing-service.ts'),
  distrustful: here('nemesis/distrustful-service.ts'),
  member: here('sync/member-service.ts'),
  'next-release': here('upgrade/next-release.ts'),
  patient: here('limits/patient-service.ts'),
  quick: here('sync/quick-service.ts'),
  'quick-graph': here('graph/quick-graph-service.ts'),
  sharing: here('bodies/sharing-service.ts'),
}

/** The file to run for a program: from the bundle of this run if the bundle has it, otherwise the source. */
export function bundledProgram(program: string): string {
  const folder = process.env[BUNDLE_VARIABLE]
  if (folder === undefined) return program
  if (program === COMMAND_LINE) return path.join(folder, 'bin', path.basename(COMMAND_LINE))
  const [name] = Object.entries(PROGRAMS).find(([, source]) => source === program) ?? []
  return name === undefined ? program : path.join(folder, 'dist', `${name}.js`)
}
