import { globSync } from 'node:fs'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import { runSteps, type Step } from '../../../../scripts/run-steps.ts'
import { planSecondLooks, type StepResult, type TestReport } from '../../../../scripts/second-look.ts'
import { ROOT, tests } from '../../../../scripts/test-steps.ts'
import { SOAK } from '../soak.ts'

const PLANTED = path.join(import.meta.dirname, 'planted')
const PLACE = path.relative(ROOT, PLANTED)

const red = (...files: string[]): TestReport => ({
  red: files.map(file => ({ file, project: 'main', tests: ['a test'] })),
  outside: [],
  text: '',
})
const ended = (code: number | null, report?: TestReport | null): StepResult => ({
  name: 'tests',
  code,
  report,
})
const LINT = { ...ended(1), name: 'lint' }

describe('a second look', () => {
  test.each<[string, StepResult[], string[]]>([
    ['nothing if nothing is red', [ended(0, red())], []],
    ['one red file', [ended(1, red('a'))], ['a']],
    ['three red files', [ended(1, red('a', 'b', 'c'))], ['a', 'b', 'c']],
    ['the same file in two projects', [ended(1, red('a', 'a'))], ['a', 'a']],
    ['red files, whatever passed beside them', [ended(0), ended(1, red('a'))], ['a']],
  ])('is taken at %s', (_, results, files) => {
    const { looks, because } = planSecondLooks(results)
    expect({ files: looks.map(({ file }) => file), because }).toEqual({ files, because: null })
  })

  test.each<[string, StepResult[], string]>([
    ['there are four', [ended(1, red('a', 'b', 'c', 'd'))], '4 test files are red'],
    ['there are four in two projects', [ended(1, red('a', 'b', 'a', 'c'))], '4 test files'],
    ['something else is red', [LINT, ended(1, red('a'))], 'lint: this is no test'],
    ['the run left no report', [ended(1, null)], 'without a report'],
    ['the run was killed after its report', [ended(null, red('a'))], 'a signal ended the run'],
    ['an error was outside of any file', [ended(1, { ...red('a'), outside: ['oh'] })], 'tests: oh'],
    ['another run left no report', [ended(1, red('a')), ended(1, null)], 'without a report'],
    ['no file is red', [ended(1, red())], 'without a red file'],
  ])('is not taken at red files if %s', (_, results, because) => {
    expect(planSecondLooks(results)).toEqual({ looks: [], because: expect.stringContaining(because) })
  })
})

/** Runs planted tests in the way of `npm test`. */
async function runPlanted(...names: string[]) {
  const folder = await mkdtemp(path.join(tmpdir(), 'waxwing-planted-'))
  const files = names.map(name => `${name}.planted.ts`)
  const base = tests('tests', { PLANTED_FOLDER: folder }, files)
  const inProject = ([program, ...args]: Step['command']) =>
    [program, ...args, `--config=${path.join(PLANTED, 'vitest.config.ts')}`] as const
  const step: Step = {
    ...base,
    command: inProject(base.command),
    alone: (file, project) => inProject(base.alone!(file, project)),
  }
  let printed = ''
  const print = (text: string) => void (printed += text)
  const result = await runSteps([step], {
    cwd: ROOT,
    folder,
    print,
    interrupted: new AbortController().signal,
  })
  return {
    ...result,
    printed,
    readOutput: async (start: string) => {
      const [file = 'none'] = globSync(`${start}*.txt`, { cwd: folder })
      return readFile(path.join(folder, file), 'utf8')
    },
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true }),
  }
}

describe.concurrent('npm test', () => {
  test('passes what was red once and is green alone, and names it', async () => {
    await using run = await runPlanted('red-once', 'uncaught-once')
    expect(run.failed, run.printed).toEqual([])
    expect(
      run.printed
        .split('\n')
        .filter(line => line.startsWith('flaky: '))
        .toSorted(),
    ).toEqual([
      `flaky: ${PLACE}/red-once.planted.ts › planted > is red once (project: first)`,
      `flaky: ${PLACE}/red-once.planted.ts › planted > is red once (project: second)`,
      `flaky: ${PLACE}/uncaught-once.planted.ts › is green, beside an error that nobody catches (project: first)`,
    ])
    expect(await run.readOutput('tests')).toMatch(/Tests +2 failed/)
    // Each of them alone, on the PostgreSQL of its project.
    const versions = await Promise.all(
      run.flaky.map(async ({ project }, index) => {
        const output = await run.readOutput(`second-look-${index + 1}`)
        expect(output).toMatch(/Tests +1 passed/)
        return `${project} ${/on PostgreSQL \d+/.exec(output)?.[0] ?? 'without one'}`
      }),
    )
    expect(versions.toSorted()).toEqual([
      'first on PostgreSQL 18',
      'first without one',
      'second on PostgreSQL 16',
    ])
  })

  test('fails with what is red again, and names what is not', SOAK, async () => {
    await using run = await runPlanted('red-once', 'red-twice')
    expect(run.failed).toEqual(['tests'])
    expect(run.flaky.map(({ file }) => file)).toEqual(Array(2).fill(`${PLACE}/red-once.planted.ts`))
    expect(run.printed).toContain('red-twice.planted.ts: is always red')
  })

  test('repeats nothing if a file did not come to its end', SOAK, async () => {
    await using run = await runPlanted('red-once', 'crash')
    expect(run).toMatchObject({ failed: ['tests'], flaky: [] })
    expect(run.printed).toContain('No second look')
    expect(run.printed).not.toContain('second look 1')
  })
})
