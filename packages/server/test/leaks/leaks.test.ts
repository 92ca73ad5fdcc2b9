import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { runSteps } from '../../../../scripts/run-steps.ts'
import type { RedFile, TestReport } from '../../../../scripts/second-look.ts'
import { ROOT, tests } from '../../../../scripts/test-steps.ts'
import { makeExternalDatabase } from '../external-database.ts'
import { OPEN } from './planted/open-things.ts'

const PLANTED = path.join(import.meta.dirname, 'planted')
const KINDS = Object.keys(OPEN)

let folder: string
let report: TestReport

/** Runs all planted tests once, in the way of `npm test`. */
beforeAll(async () => {
  await using database = await makeExternalDatabase()
  folder = await mkdtemp(path.join(tmpdir(), 'waxwing-planted-'))
  const { alone: _, ...step } = tests('tests', { PLANTED_DATABASE: database.url, TMPDIR: folder }, [
    `--config=${path.join(PLANTED, 'vitest.config.ts')}`,
  ])
  const interrupted = new AbortController().signal
  await runSteps([step], { cwd: ROOT, folder, print: () => {}, interrupted })
  report = JSON.parse(await readFile(path.join(folder, 'tests.json'), 'utf8'))
})
afterAll(() => rm(folder, { recursive: true }))

function redOf(name: string): RedFile | undefined {
  return report.red.find(({ file }) => file.endsWith(`/${name}.planted.ts`))
}

/** Lines of the report about a test or a file. */
function describeRed(name: string): string {
  return report.text.split('FAILED ').find(text => text.split('\n')[0]!.endsWith(name)) ?? report.text
}

describe('the leak check', () => {
  test.each([...KINDS, 'advisory lock'])('names a test that leaves a %s, and where it was opened', kind => {
    const name = `leaves a${kind.startsWith('a') ? 'n' : ''} ${kind}`
    expect(redOf('of-tests')?.tests).toContain(name)
    expect(describeRed(name)).toContain(`The test left open:\n${kind}: `)
    if (kind !== 'advisory lock') expect(describeRed(name)).toContain('open-things.ts')
  })

  test('lets the tests of a file use what it opened before them', () => {
    expect(redOf('of-tests')?.tests).toHaveLength(KINDS.length + 1)
  })

  test.each(KINDS)('names a file that leaves a %s', kind => {
    expect(redOf('of-file')?.tests).toEqual(['outside of its tests'])
    expect(describeRed('of-file.planted.ts')).toMatch(new RegExp(`The file left open:\n(?:.*\n)*${kind}: `))
  })

  test('blames the test that left something for what it opens later, and no test or file after it', () => {
    expect(redOf('goes-on')?.tests).toEqual(['leaves something that goes on'])
    expect(describeRed('leaves something that goes on')).toContain('The test left open:\ntimer: of 20 ms')
    expect(redOf('later')).toBeUndefined()
  })

  test('accepts a leak of the list, and refuses a line of it that is not needed', () => {
    expect(redOf('listed')).toBeUndefined()
    expect(describeRed('mended.planted.ts')).toContain('The file leaves open no child process: remove it')
  })
})
