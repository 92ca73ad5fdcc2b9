import { type ChildProcess, spawn } from 'node:child_process'
import { chmod, mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { serverPid } from '../src/database/embedded/cluster.ts'
import { bundledProgram, COMMAND_LINE } from './bundled-program.ts'
import { compileCache } from './compile-cache.ts'
import { guardFolder, guardProcess } from './guard/guard.ts'
import { chooseMemoryFolder } from './memory-folder.ts'

/** The command line. */
export const PROGRAM = COMMAND_LINE
const WAIT_SECONDS = 120

/** The end of a program, and everything that it wrote. */
export interface Ended {
  code: number | null
  signal: NodeJS.Signals | null
  stdout: string
  stderr: string
}

/** A `waxwing serve` in a process of its own. Disposing it kills it. */
export interface ServiceProcess extends AsyncDisposable {
  pid: number
  /** Where the API listens; empty in a process without it. */
  address: string
  /** The key that the first start created; null at later starts. */
  key: string | null
  output(): string
  /** Closes the pipe of its output, as happens when a supervisor ends. */
  closeOutput(): void
  kill(signal: NodeJS.Signals): void
  ended: Promise<Ended>
}

/** A folder for a service's data. Disposing it also ends a database server that was left in it. */
export interface DataFolder extends AsyncDisposable {
  path: string
  /** The process id of the embedded server, or null. */
  findServer(): Promise<number | null>
}

export async function makeDataFolder(parent?: string): Promise<DataFolder> {
  const folder = await mkdtemp(path.join(parent ?? (await chooseMemoryFolder()), 'waxwing-start-'))
  const release = guardFolder(folder)
  await chmod(folder, 0o711)
  const findServer = async () => {
    const pid = await serverPid(path.join(folder, 'postgres', 'cluster'))
    return pid !== null && isRunning(pid) ? pid : null
  }
  return {
    path: folder,
    findServer,
    async [Symbol.asyncDispose]() {
      const pid = await findServer()
      if (pid !== null) {
        process.kill(pid, 'SIGQUIT')
        await until(() => !isRunning(pid), 'the database server ends')
      }
      await rm(folder, { recursive: true, force: true })
      release()
    },
  }
}

export interface ProgramOptions {
  /** The program to run; the command line by default. */
  program?: string
  /** Starts the service in place of the program, such as `npm start`. */
  command?: [file: string, ...args: string[]]
  env?: Record<string, string>
  cwd?: string
}

/** Runs the command line until it ends. */
export function runWaxwing(args: string[], options: ProgramOptions = {}): Promise<Ended> {
  return collect(launch(args, options)).ended
}

/** A command that runs until it is ended. Disposing it kills it. */
export interface RunningCommand extends AsyncDisposable {
  output(): string
  kill(signal: NodeJS.Signals): void
  ended: Promise<Ended>
}

export function startWaxwing(args: string[], options: ProgramOptions = {}): RunningCommand {
  const child = launch(args, options)
  const { written, ended } = collect(child)
  return {
    output: () => written.stdout + written.stderr,
    kill: signal => void child.kill(signal),
    ended,
    async [Symbol.asyncDispose]() {
      child.kill('SIGKILL')
      await ended
    },
  }
}

/** Starts the service and waits until it answers. Rejects with its output if it ends instead. */
export async function startServiceProcess(
  folder: DataFolder,
  options: ProgramOptions = {},
): Promise<ServiceProcess> {
  const env = { WAXWING_DATA_DIR: folder.path, ...options.env }
  const child = launch(['serve'], { ...options, env })
  const { written, ended } = collect(child)
  const end = async () => {
    child.kill('SIGKILL')
    await ended
  }
  try {
    await until(() => hasEnded(child) || isRunningIn(written.stdout), 'the service starts')
    if (!isRunningIn(written.stdout)) {
      // Its last words may still be on their way.
      const { stdout, stderr } = await ended
      throw new Error(`The service ended:\n${stdout}${stderr}`)
    }
    const address = addressIn(written.stdout) ?? ''
    return {
      pid: child.pid ?? 0,
      address,
      key: await readFirstKey(written.stdout),
      output: () => written.stdout + written.stderr,
      closeOutput() {
        child.stdout.destroy()
        child.stderr.destroy()
      },
      kill: signal => void child.kill(signal),
      ended,
      [Symbol.asyncDispose]: end,
    }
  } catch (error) {
    await end()
    throw error
  }
}

/** Reads the key from the file that the log names. */
async function readFirstKey(output: string): Promise<string | null> {
  const [, file] = /is in the file (\/\S+)\. Keep it elsewhere/.exec(output) ?? []
  return file === undefined ? null : (await readFile(file, 'utf8')).trim()
}

export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

/** Waits until the condition holds, at most two minutes. */
export async function until(condition: () => boolean | Promise<boolean>, what: string): Promise<void> {
  const end = Date.now() + WAIT_SECONDS * 1000
  while (!(await condition())) {
    if (Date.now() > end) throw new Error(`Waited ${WAIT_SECONDS} s in vain until ${what}`)
    await new Promise(resolve => setTimeout(resolve, 20))
  }
}

function launch(args: string[], { program = PROGRAM, command, env = {}, cwd = tmpdir() }: ProgramOptions) {
  const [file, ...rest] = command ?? [process.execPath, bundledProgram(program), ...args]
  const child = spawn(file, rest, {
    cwd,
    // Not this process's environment: the tests must not depend on the settings of the user who runs them.
    env: { PATH: '/usr/bin:/bin', ...compileCache(), WAXWING_PORT: '0', WAXWING_METRICS_PORT: '0', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  guardProcess(child)
  return child
}

function collect(child: ChildProcess) {
  const written = { stdout: '', stderr: '' }
  child.stdout?.setEncoding('utf8').on('data', (text: string) => void (written.stdout += text))
  child.stderr?.setEncoding('utf8').on('data', (text: string) => void (written.stderr += text))
  const ended = new Promise<Ended>(resolve => {
    child.once('close', (code, signal) => resolve({ code, signal, ...written }))
  })
  return { written, ended }
}

function hasEnded({ exitCode, signalCode }: ChildProcess) {
  return exitCode !== null || signalCode !== null
}

/** Whether the last line that a start logs is there. */
function isRunningIn(stdout: string) {
  return stdout.includes('"message":"Waxwing is running"')
}

/** The address in the last line that a start logs. */
function addressIn(stdout: string) {
  return /"address":"(http:[^"]+)"[^\n]*"message":"Waxwing is running"/.exec(stdout)?.[1] ?? null
}
