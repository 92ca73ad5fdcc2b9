import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { compileCache } from '../compile-cache.ts'
import { guardProcess } from '../guard/guard.ts'
import { requireRequests } from '../servers/install.ts'
import { until } from '../service-process.ts'

const EXAMPLES = fileURLToPath(new URL('../../../../docs/examples', import.meta.url))
/** Lets `@waxwing/sdk` be the sources of the clone. */
const SDK = pathToFileURL(path.join(import.meta.dirname, 'find-sdk.ts')).href
const EXAMPLE_SECONDS_MAX = 120

export const LANGUAGES = ['sh', 'ts', 'py'] as const
export type Language = (typeof LANGUAGES)[number]

export type Environment = Readonly<Record<string, string>>

/** A program that runs until it is stopped. Disposing it kills it. */
export interface RunningExample extends AsyncDisposable {
  /** Waits until it has printed so many lines. */
  hasPrinted(lines: number): Promise<void>
  /** Waits until it has printed everything that is expected, and ends it. */
  finish(): Promise<void>
}

/** The path of an example in one language, which may have no such file. */
export function exampleFile(job: string, name: string, language: Language): string {
  return path.join(EXAMPLES, job, `${name}.${language}`)
}

export function hasExample(job: string, name: string, language: Language): boolean {
  return existsSync(exampleFile(job, name, language))
}

/** The lines that an example prints in any language. */
export async function readExpected(job: string, name: string): Promise<string[]> {
  return linesOf(await readFile(path.join(EXAMPLES, job, `${name}.out`), 'utf8'))
}

/**
 * Runs an example to its end, and compares what it prints.
 * @returns the variables that it asks its reader to export
 */
export async function runExample(
  job: string,
  name: string,
  language: Language,
  environment: Environment,
): Promise<Environment> {
  const expected = await readExpected(job, name)
  const { printed, complained, ended } = launch(exampleFile(job, name, language), language, environment)
  const code = await ended
  compare(`${job}/${name}.${language}`, expected, linesOf(printed()), complained())
  if (code !== 0) throw new Error(`${job}/${name}.${language} ended with ${code}:\n${complained()}`)
  return Object.fromEntries(
    linesOf(printed()).flatMap(line => {
      const [, variable = '', value = ''] = /^export (\w+)=(\S+)$/.exec(line) ?? []
      return variable === '' ? [] : [[variable, value]]
    }),
  )
}

/** Starts an example that runs until it is stopped, and waits for its first line. */
export async function startExample(
  job: string,
  name: string,
  language: Language,
  environment: Environment,
): Promise<RunningExample> {
  const expected = await readExpected(job, name)
  const { child, printed, complained, ended } = launch(
    exampleFile(job, name, language),
    language,
    environment,
  )
  const what = `${job}/${name}.${language}`
  let hasEnded = false
  void ended.then(() => (hasEnded = true))
  const end = async () => {
    // Its own children go with it.
    if (isRunning(child) && child.pid !== undefined) process.kill(-child.pid, 'SIGKILL')
    await ended
  }
  const hasPrinted = async (lines: number) => {
    const isThere = () => linesOf(printed()).length >= lines
    await until(() => isThere() || hasEnded, `${what} has printed ${lines} lines`)
    if (!isThere()) throw new Error(`${what} ended:\n${printed()}${complained()}`)
  }
  const running: RunningExample = {
    hasPrinted,
    async finish() {
      await hasPrinted(expected.length)
      compare(what, expected, linesOf(printed()), complained())
      await end()
    },
    [Symbol.asyncDispose]: end,
  }
  try {
    await hasPrinted(1)
    return running
  } catch (error) {
    await end()
    throw error
  }
}

function launch(file: string, language: Language, environment: Environment) {
  const commands = {
    sh: ['/bin/sh', '-eu', file],
    ts: [process.execPath, '--disable-warning=ExperimentalWarning', `--import=${SDK}`, file],
    py: [language === 'py' ? requireRequests() : '', '-u', file],
  }
  const [command = '', ...args] = commands[language]
  const child = spawn(command, args, {
    cwd: environment['FOLDER'],
    env: { PATH: '/usr/local/bin:/usr/bin:/bin', ...compileCache(), ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
    timeout: EXAMPLE_SECONDS_MAX * 1000,
  })
  guardProcess(child)
  const written = { stdout: '', stderr: '' }
  child.stdout.setEncoding('utf8').on('data', (text: string) => void (written.stdout += text))
  child.stderr.setEncoding('utf8').on('data', (text: string) => void (written.stderr += text))
  const ended = new Promise<number | null>(resolve => child.once('close', resolve))
  return { child, ended, printed: () => written.stdout, complained: () => written.stderr }
}

function isRunning({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode === null && signalCode === null
}

function linesOf(text: string): string[] {
  return text.split('\n').filter((line, index, all) => line !== '' || index < all.length - 1)
}

/** In an expected line, `…` stands for any text. */
function compare(what: string, expected: readonly string[], printed: readonly string[], complained: string) {
  const fits =
    printed.length === expected.length && printed.every((line, index) => fitsLine(expected[index]!, line))
  if (fits) return
  throw new Error(
    `${what} printed\n${printed.join('\n')}\n${complained}\nin place of\n${expected.join('\n')}`,
  )
}

export function fitsLine(expected: string, printed: string): boolean {
  const [start = '', ...parts] = expected.split('…')
  const end = parts.pop()
  if (end === undefined) return printed === expected
  let at = printed.startsWith(start) ? start.length : -1
  for (const part of parts) {
    const found = at === -1 ? -1 : printed.indexOf(part, at)
    at = found === -1 ? -1 : found + part.length
  }
  return at !== -1 && printed.length - end.length >= at && printed.endsWith(end)
}
