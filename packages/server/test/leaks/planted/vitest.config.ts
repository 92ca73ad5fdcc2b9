import { defineConfig } from 'vitest/config'

/** Tests that leave something open on purpose. Only leaks.test.ts runs them. */
export default defineConfig({
  test: {
    include: ['*.planted.ts'],
    root: import.meta.dirname,
    setupFiles: ['../setup.ts'],
    provide: {
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
