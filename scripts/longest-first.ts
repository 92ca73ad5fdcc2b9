import path from 'node:path'
import { BaseSequencer, type TestSpecification } from 'vitest/node'
import { orderFiles, postgresOf, readDurations } from './durations.ts'

const ROOT = path.resolve(import.meta.dirname, '..')

/** The order of the test files of a run. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const durations = readDurations()
    const ordered = orderFiles(
      files.map(each => ({
        each,
        sharing: each.project.config.isolate ? null : each.project.name,
        seconds:
          durations[`PostgreSQL ${postgresOf(each.project.config.env)}`]?.[
            path.relative(ROOT, each.moduleId)
          ],
      })),
    )
    return ordered.map(({ each }) => each)
  }
}
