import path from 'node:path'
import {
  aroundAll,
  aroundEach,
  expect,
  inject,
  type RunnerTask,
  type RunnerTestFile,
  type RunnerTestSuite,
} from 'vitest'
import { describeLeaks, findMended } from './check.ts'
import { findLeft, type Kind, type Left, runAs } from './ledger.ts'
import { OPEN_LEAKS, type OpenLeaks } from './open-leaks.ts'
import { watchAll } from './watch-all.ts'
import { findLocks, findNewLocks } from './watch-locks.ts'

declare module 'vitest' {
  export interface ProvidedContext {
    /** In a project of planted leaks, which nothing closes. */
    plantedLeaks?: { listed: OpenLeaks; closingSecondsMax: number }
  }
}

const HERE = path.resolve(import.meta.dirname, '../..')

watchAll()

/** Things that close in the background, such as sockets, need a moment. A leak costs all of it. */
const CLOSING_SECONDS_MAX = 30

const planted = inject('plantedLeaks')
const secondsMax = planted?.closingSecondsMax ?? CLOSING_SECONDS_MAX
const file = path.relative(HERE, expect.getState().testPath!)
const listed = (planted?.listed ?? OPEN_LEAKS)[file] ?? []
/** Kinds of the list that were found open. */
const known = new Set<Kind>()
/** The file, once a test of it has run. */
let begun: RunnerTestFile | undefined

// Outside of every other hook, and of what runs after them.
aroundEach(async (run, { task }) => {
  begun = task.file
  const owner = { file }
  // A lock does not show which of several tests took it.
  const before = task.concurrent ? null : await findLocks()
  await runAs(owner, run)
  const left = await findLeft(each => each === owner, secondsMax, listed)
  refuseLeaks('The test', before ? [...left, ...(await findNewLocks(before, owner, secondsMax))] : left)
})

aroundAll(async run => {
  const owner = { file }
  await runAs(owner, run)
  const left = await findLeft(() => true, secondsMax, listed)
  refuseLeaks('The file', [...left, ...(await findNewLocks(new Set(), owner, secondsMax))])
  const mended = begun && isWhole(begun) ? findMended(listed, known) : []
  if (mended.length === 0) return
  throw new Error(`The file leaves open no ${mended.join(', ')}: remove it from test/leaks/open-leaks.ts`)
})

function refuseLeaks(whose: string, left: readonly Left[]): void {
  for (const { opened } of left) if (listed.includes(opened.kind)) known.add(opened.kind)
  const unlisted = left.filter(({ opened }) => !listed.includes(opened.kind))
  if (unlisted.length > 0) throw new Error(describeLeaks(whose, file, unlisted))
}

/** Whether all tests of a file ran, not only those of a chosen name. */
function isWhole({ tasks }: Pick<RunnerTestSuite, 'tasks'>): boolean {
  return tasks.every((task: RunnerTask) => (task.type === 'suite' ? isWhole(task) : task.mode === 'run'))
}
