import { defineConfig } from 'vitest/config'

const { searchParams } = new URL(process.env['PLANTED_DATABASE'] ?? '')
/** Of the server on which the tests take locks, as if it were that of the run. */
const socketFolder = searchParams.get('host') ?? ''

/** Tests that leave something open on purpose. Only leaks.test.ts runs them. */
export default defineConfig({
  test: {
    include: ['*.planted.ts'],
    root: import.meta.dirname,
    setupFiles: ['../setup.ts'],
    provide: {
      postgres: { version: '18', socketFolder, password: '', template: '' },
      plantedLeaks: {
        closingSecondsMax: 1,
        listed: {
          'test/leaks/planted/listed.planted.ts': ['timer'],
          'test/leaks/planted/mended.planted.ts': ['timer', 'child process'],
        },
      },
    },
  },
})
