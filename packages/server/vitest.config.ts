import { defineConfig } from 'vitest/config'
import { findTestFiles } from './test/projects/test-files.ts'
import { readSources } from '../../scripts/import-graph.ts'
import { hasOldestPostgres } from '../../scripts/oldest-postgres.ts'
import { SETTINGS } from '../../scripts/vitest-settings.ts'

const { pure, alone, others, tagged, taggedInSoak } = findTestFiles(readSources())
const withDatabase = {
  globalSetup: ['test/global-setup.ts'],
  setupFiles: ['test/leaks/setup.ts', 'test/statements/setup.ts'],
}
/** `npm run soak` takes the tests with the tag `soak`, too. */
const isSoak = process.env['WAXWING_TEST_SOAK'] === '1'
const withoutSoak = isSoak ? [] : ['!soak']
/**
 * A worker that runs many files makes much garbage that dies young. With more room for it, the collector copies half as
 * often what lives.
 */
const manyFiles = { isolate: false, execArgv: ['--min-semi-space-size=16', '--max-semi-space-size=32'] }
/** The types of Vitest know `tagsFilter` as an option of whole runs only. */
const inCi = { tagsFilter: withoutSoak }
/** The tests with the tag `postgres-16`, and in a soak run those with `postgres-16-in-soak`. */
const onOldest = {
  name: 'postgres-16',
  include: isSoak ? [...tagged, ...taggedInSoak] : tagged,
  ...manyFiles,
  tagsFilter: [isSoak ? 'postgres-16 || postgres-16-in-soak' : 'postgres-16', ...withoutSoak],
  env: { WAXWING_TEST_PG: '16' },
  ...withDatabase,
}
/** Everything runs on it then, and nothing twice. */
const isAllOnOldest = process.env['WAXWING_TEST_PG'] === '16'

export default defineConfig({
  test: {
    ...SETTINGS,
    name: 'server',
    tags: [
      { name: 'postgres-16', description: 'Runs on PostgreSQL 16, too.' },
      { name: 'postgres-16-in-soak', description: 'Runs on PostgreSQL 16 with `npm run soak` only.' },
      { name: 'soak', description: 'Runs with `npm run soak` only.' },
    ],
    projects: [
      // A worker that runs many files loads the service once. A file must leave nothing behind, which test/leaks checks.
      { test: { name: 'main', include: others, ...manyFiles, ...inCi, ...withDatabase } },
      { test: { name: 'alone', include: alone, ...inCi, ...withDatabase } },
      { test: { name: 'pure', include: pure, ...manyFiles, ...inCi } },
      ...(hasOldestPostgres() && !isAllOnOldest ? [{ test: onOldest }] : []),
    ],
  },
})
