import { defineConfig } from 'vitest/config'

// Most tests wait for servers, so more of them than there are cores keep the cores busy.
export default defineConfig({ test: { projects: ['packages/*/vitest.config.ts'], maxWorkers: 3 } })
