import { existsSync, readFileSync } from 'node:fs'
import path from 'node:path'

/** The seconds of each test file by its path from the folder of the repository, for each PostgreSQL, such as "PostgreSQL 18". */
export type Durations = Readonly<Record<string, Readonly<Record<string, number>>>>

/** The file with the durations, which `npm test -- --durations` writes. */
export const DURATIONS = path.resolve(import.meta.dirname, '../packages/server/test/durations.json')

export function readDurations(file = DURATIONS): Durations {
  return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as Durations) : {}
}

/** The version of PostgreSQL on which the tests of a project run, if they need one. */
export function postgresOf(env: Readonly<Record<string, unknown>> | undefined): '18' | '16' {
  return (env?.['WAXWING_TEST_PG'] ?? process.env['WAXWING_TEST_PG']) === '16' ? '16' : '18'
}

/**
 * Orders test files: the longest first, so that no worker is left alone with one at the end. Files without a known
 * duration come before them, and those that share a worker are last, one after the other.
 */
export function orderFiles<File extends { isIsolated: boolean; seconds: number | undefined }>(
  files: readonly File[],
): File[] {
  const secondsOf = ({ seconds = Infinity }: File) => seconds
  const isSharing = ({ isIsolated }: File) => (isIsolated ? 0 : 1)
  return files.toSorted(
    (one, other) => isSharing(one) - isSharing(other) || secondsOf(other) - secondsOf(one) || 0,
  )
}
