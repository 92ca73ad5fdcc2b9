import { defineConfig } from 'vitest/config'
import { findTestFiles } from './test/projects/test-files.ts'
import { readSources } from '../../scripts/import-graph.ts'
import { hasOldestPostgres } from '../../scripts/oldest-postgres.ts'
import { SETTINGS } from '../../scripts/vitest-settings.ts'

const { pure, alone, others, tagged } = findTestFiles(readSources())
const withDatabase = {
  globalSetup: ['test/global-setup.ts'],
  setupFiles: ['test/leaks/setup.ts', 'test/statements/setup.ts'],
}
/** `npm run soak` takes the tests with the tag `soak`, too. */
const withoutSoak = process.env['WAXWING_TEST_SOAK'] === '1' ? [] : ['!soak']
/** The types of Vitest know `tagsFilter` as an option of whole runs only. */
const inCi = { tagsFilter: withoutSoak }
/** The tests with the tag `postgres-16`. */
const onOldest = {
  name: 'postgres-16',
  include: tagged,
  isolate: false,
  tagsFilter: ['postgres-16', ...withoutSoak],
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
      { name: 'soak', description: 'Runs with `npm run soak` only.' },
    ],
    projects: [
      // A worker that runs many files loads the service once. A file must leave nothing behind, which test/leaks checks.
      { test: { name: 'main', include: others, isolate: false, ...inCi, ...withDatabase } },
      { test: { name: 'alone', include: alone, ...inCi, ...withDatabase } },
      { test: { name: 'pure', include: pure, isolate: false, ...inCi } },
      ...(hasOldestPostgres() && !isAllOnOldest ? [{ test: onOldest }] : []),
    ],
  },
})
