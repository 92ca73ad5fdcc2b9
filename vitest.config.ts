import { defineConfig } from 'vitest/config'
import { LongestFirst } from './scripts/longest-first.ts'
import { SETTINGS } from './scripts/vitest-settings.ts'

export default defineConfig({
  test: { ...SETTINGS, projects: ['packages/*/vitest.config.ts'], sequence: { sequencer: LongestFirst } },
})
