import { defineConfig } from 'vitest/config'
import { findTestFiles } from './test/projects/test-files.ts'
import { readSources } from '../../scripts/import-graph.ts'
import { hasOldestPostgres } from '../../scripts/oldest-postgres.ts'
import { SETTINGS } from '../../scripts/vitest-settings.ts'

const { pure, others, tagged } = findTestFiles(readSources())
const withDatabase = {
  globalSetup: ['test/global-setup.ts'],
  setupFiles: ['test/leaks/setup.ts', 'test/statements/setup.ts'],
}
/** The tests with the tag `postgres-16`. The types of Vitest know `tagsFilter` as an option of whole runs only. */
const onOldest = {
  name: 'postgres-16',
  include: tagged,
  tagsFilter: ['postgres-16'],
  env: { WAXWING_TEST_PG: '16' },
  ...withDatabase,
}
/** Everything runs on it then, and nothing twice. */
const isAllOnOldest = process.env['WAXWING_TEST_PG'] === '16'

export default defineConfig({
  test: {
    ...SETTINGS,
    name: 'server',
    tags: [{ name: 'postgres-16', description: 'Runs on PostgreSQL 16, too.' }],
    projects: [
      { test: { name: 'main', include: others, ...withDatabase } },
      // They share nothing that one of them could leave behind, so a worker runs many of them.
      { test: { name: 'pure', include: pure, isolate: false } },
      ...(hasOldestPostgres() && !isAllOnOldest ? [{ test: onOldest }] : []),
    ],
  },
})
