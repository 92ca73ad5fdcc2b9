import { defineConfig } from 'vitest/config'
import { SETTINGS } from '../../scripts/vitest-settings.ts'

export default defineConfig({
  test: { ...SETTINGS, name: 'sandbox', include: ['src/**/*.test.ts', 'test/**/*.test.ts'] },
})
