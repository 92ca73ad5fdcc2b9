import { defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** In one process, so that a file may find what those before it left. */
class ByName extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    return files.toSorted((a, b) => a.moduleId.localeCompare(b.moduleId))
  }
}

const { searchParams } = new URL(process.env['PLANTED_DATABASE'] ?? '')
/** Of the server on which the tests take locks, as if it were that of the run. */
const socketFolder = searchParams.get('host') ?? ''

/** Tests that leave something open on purpose. Only leaks.test.ts runs them. */
export default defineConfig({
  test: {
    include: ['*.planted.ts'],
    root: import.meta.dirname,
    setupFiles: ['../setup.ts'],
    isolate: false,
    maxWorkers: 1,
    sequence: { sequencer: ByName },
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
