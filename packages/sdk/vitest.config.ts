import { defineConfig } from 'vitest/config'
import { SETTINGS } from '../../scripts/vitest-settings.ts'

export default defineConfig({
  test: {
    ...SETTINGS,
    name: 'sdk',
    include: ['src/**/*.test.ts', 'test/**/*.test.ts'],
    // A worker that runs many files loads the client once. A file must put back what it changes.
    isolate: false,
  },
})
