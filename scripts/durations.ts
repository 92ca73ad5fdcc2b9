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
 * Orders test files: first those that have a worker of their own, then those that share workers, project by project, since
 * a worker is kept only for files of one project. In each of these groups the longest come first, so that no worker is left
 * alone with one at the end, and files without a known duration before them.
 */
export function orderFiles<File extends { sharing: string | null; seconds: number | undefined }>(
  files: readonly File[],
): File[] {
  const secondsOf = ({ seconds = Infinity }: File) => seconds
  const groups = Map.groupBy(files, ({ sharing }) => sharing)
  const longestFirst = (group: readonly File[] = []) =>
    group.toSorted((one, other) => secondsOf(other) - secondsOf(one) || 0)
  const longestOf = ([, group]: readonly [unknown, readonly File[]]) => Math.max(...group.map(secondsOf))
  return [
    ...longestFirst(groups.get(null)),
    ...[...groups]
      .filter(([sharing]) => sharing !== null)
      .toSorted((one, other) => longestOf(other) - longestOf(one) || 0)
      .flatMap(([, group]) => longestFirst(group)),
  ]
}
