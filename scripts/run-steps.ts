import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createWriteStream } from 'node:fs'
import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { stripVTControlCharacters } from 'node:util'
import {
  describeFlaky,
  planSecondLooks,
  type SecondLook,
  type StepResult,
  type TestReport,
} from './second-look.ts'

const LAST_WORDS_SECONDS = 5

/** A command of `npm test`. */
export interface Step {
  name: string
  command: readonly [program: string, ...args: string[]]
  env?: Readonly<Record<string, string>>
  /** The rest is not worth running if this step fails. */
  isNeeded?: true
  /** The command that runs one file of a step of tests, alone and in the same project. */
  alone?(file: string, project: string): Step['command']
}

export interface RunOptions {
  /** Where the commands run. */
  cwd: string
  /** An empty folder for what the steps print, and for the reports of tests. */
  folder: string
  print(text: string): void
  /** Ends the step that runs, by the signal that is its reason. */
  interrupted: AbortSignal
}

export interface RunResult {
  /** The names of the steps that failed for good. */
  failed: string[]
  /** Test files that were red once, and then green alone. */
  flaky: SecondLook[]
}

/** Runs all steps, and then each red test file alone, if there are few and nothing else is red. Prints all of it. */
export async function runSteps(steps: readonly Step[], options: RunOptions): Promise<RunResult> {
  const results: StepResult[] = []
  for (const step of steps) {
    const result = await runStep(step, options)
    results.push(result)
    if (options.interrupted.aborted || (step.isNeeded && result.code !== 0)) break
  }
  const { print } = options
  for (const { report } of results) print(report?.text ?? '')
  const failed = results.filter(({ code }) => code !== 0).map(({ name }) => name)
  if (failed.length === 0 || options.interrupted.aborted) return { failed, flaky: [] }

  const { looks, because } = planSecondLooks(results)
  const hasRedTests = results.some(({ code, report }) => code !== 0 && report !== undefined)
  if (because !== null && hasRedTests) print(`\nNo second look at red tests, because of ${because}.\n`)
  const redTwice: SecondLook[] = []
  for (const [index, look] of looks.entries()) {
    const code = await lookAgain(look, index + 1, steps, options)
    if (code !== 0) redTwice.push(look)
  }
  const flaky = looks.filter(look => !redTwice.includes(look))
  for (const line of describeFlaky(flaky)) print(`${line}\n`)
  const isRedTwice = (name: string) => looks.length === 0 || redTwice.some(({ step }) => step === name)
  return { failed: failed.filter(isRedTwice), flaky }
}

async function lookAgain(
  look: SecondLook,
  number: number,
  steps: readonly Step[],
  options: RunOptions,
): Promise<number | null> {
  const { name, alone, env = {} } = steps.find(step => step.name === look.step)!
  if (options.interrupted.aborted || !alone) return null
  const command = alone(path.resolve(options.cwd, look.file), look.project)
  const title = `second look ${number}, ${name}: ${look.file} (project: ${look.project})`
  const result = await runStep({ name: title, command, env, alone }, options)
  options.print(result.report?.text ?? '')
  return result.code
}

async function runStep(step: Step, options: RunOptions): Promise<StepResult> {
  const { name, command, env } = step
  const { cwd, folder, print, interrupted } = options
  const startedAt = performance.now()
  print(`\n— ${name}\n`)
  const kept = path.join(folder, name.replaceAll(/[^\w.]+/g, '-').toLowerCase())
  const [program, ...args] = command
  const child = spawn(program, args, {
    cwd,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...env, WAXWING_TEST_REPORT: `${kept}.json` },
  })
  const pass = () => void child.kill(interrupted.reason as NodeJS.Signals)
  interrupted.addEventListener('abort', pass)
  try {
    const [code, signal] = await collect(child, `${kept}.txt`, print)
    const seconds = ((performance.now() - startedAt) / 1000).toFixed(1)
    print(
      `— ${name}: ${code === 0 ? 'passed' : `FAILED with ${signal ?? `exit code ${code}`}`} in ${seconds} s\n`,
    )
    return { name, code, report: step.alone && (await readReport(`${kept}.json`)) }
  } finally {
    interrupted.removeEventListener('abort', pass)
  }
}

/** Prints and keeps what a command prints. A command that cannot be started has failed. */
async function collect(child: ChildProcess, file: string, print: (text: string) => void) {
  const output = createWriteStream(file)
  const show = (text: string) => {
    print(text)
    output.write(stripVTControlCharacters(text))
  }
  for (const stream of [child.stdout, child.stderr]) stream?.setEncoding('utf8').on('data', show)
  const closed = once(child, 'close').catch(() => {})
  const ended = await once(child, 'exit').catch((error: Error) => show(`${error.message}\n`))
  const [code = null, signal = null] = (ended ?? []) as [number | null, NodeJS.Signals | null]
  // A process that it left behind may hold its output open.
  await Promise.race([closed, setTimeout(LAST_WORDS_SECONDS * 1000, undefined, { ref: false })])
  await new Promise<void>(resolve => output.end(resolve))
  return [code, signal] as const
}

async function readReport(file: string): Promise<TestReport | null> {
  const text = await readFile(file, 'utf8').catch(() => null)
  return text === null ? null : (JSON.parse(text) as TestReport)
}
