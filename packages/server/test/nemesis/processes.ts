import type { Role } from '../../src/config/settings.ts'
import { type DataFolder, PROGRAM, type ServiceProcess, startServiceProcess } from '../service-process.ts'
import type { FaultProxy } from '../servers/fault-proxy.ts'
import { waitUntil } from '../wait-until.ts'
import { urlFor } from './capture.ts'
import { countOpenFiles } from './sessions.ts'

const START_SECONDS_MAX = 180
const EVERY_ROLE: readonly Role[] = ['api', 'sync', 'jobs']

/** The roles of the three processes. */
export const LAYOUTS = {
  together: [EVERY_ROLE, EVERY_ROLE, EVERY_ROLE],
  apart: [['api'], ['sync'], ['jobs']],
} as const satisfies Record<string, ReadonlyArray<readonly Role[]>>
export type Layout = keyof typeof LAYOUTS

/** A slot for a process: one runs in it at a time, but for a moment in a rolling restart. */
export interface ProcessSlot {
  /** Beginning of the names of its processes. */
  readonly name: string
  readonly roles: readonly Role[]
  /** Stands between its processes and the database. */
  readonly databaseProxy: FaultProxy
  /** The name of the process that runs, such as `one.3`: each process has its own. */
  readonly processName: string
  /** The key that the very first start of all created. */
  readonly firstKey: string | null
  /** Where its API listens; null without one, and while no process runs. */
  readonly address: string | null
  /** Its processes that have not ended, by their ids. */
  readonly names: ReadonlyMap<number, string>
  kill(): Promise<void>
  /** Starts a process, and waits until it runs. */
  start(): Promise<void>
  /** Starts a new process beside the old one, then asks the old one to end, and waits for that. */
  roll(): Promise<void>
  stop(): void
  resume(): void
  state(): Promise<ProcessState>
  /** Log lines of all its processes. */
  output(): string
}

export interface ProcessState {
  name: string
  openFiles: number
  openFilesAtFirst: number
  exitedBy: string | null
}

interface Running {
  name: string
  service: ServiceProcess
  isEnding: boolean
  hasEnded: boolean
  exitedBy: string | null
  openFilesAtFirst: number
}

export interface ProcessSlotOptions {
  name: string
  /** Program that runs the service, in place of the command line. */
  program?: string
  roles: readonly Role[]
  folder: DataFolder
  databaseProxy: FaultProxy
  /** The database's URL for a host and port. */
  databaseUrl: (at: { host: string; port: number }) => string
  env: Record<string, string>
}

export async function openProcessSlot(options: ProcessSlotOptions): Promise<ProcessSlot & AsyncDisposable> {
  const { name, program = PROGRAM, roles, folder, databaseProxy, databaseUrl, env } = options
  const all: Running[] = []
  let current: Running | null = null
  let started = 0

  async function launch(): Promise<Running> {
    const processName = `${name}.${++started}`
    const service = await startServiceProcess(folder, {
      program,
      env: {
        ...env,
        DATABASE_URL: urlFor(databaseUrl(databaseProxy), processName),
        WAXWING_ROLES: roles.join(','),
      },
    })
    const openFilesAtFirst = await countOpenFiles(service.pid)
    const running: Running = {
      name: processName,
      service,
      isEnding: false,
      hasEnded: false,
      exitedBy: null,
      openFilesAtFirst,
    }
    all.push(running)
    void service.ended.then(({ code, signal }) => {
      running.hasEnded = true
      if (!running.isEnding) running.exitedBy = signal ?? `exit code ${code}`
    })
    return running
  }
  const end = async (running: Running, signal: NodeJS.Signals) => {
    running.isEnding = true
    running.service.kill(signal)
    await running.service.ended
  }
  /** As a supervisor does, starts again what could not start because something was out of order. */
  const launchPatiently = () =>
    waitUntil('the process to start', () => launch().catch(() => null), START_SECONDS_MAX)

  return {
    name,
    roles,
    databaseProxy,
    get processName() {
      return current?.name ?? name
    },
    get firstKey() {
      return all.find(({ service }) => service.key !== null)?.service.key ?? null
    },
    get address() {
      return current && roles.includes('api') ? current.service.address : null
    },
    get names() {
      return new Map(
        all.filter(({ hasEnded }) => !hasEnded).map(({ service, name: of }) => [service.pid, of]),
      )
    },
    async start() {
      current = await launchPatiently()
    },
    async kill() {
      const killed = current
      current = null
      if (killed) await end(killed, 'SIGKILL')
    },
    async roll() {
      const old = current
      current = await launchPatiently()
      if (old) await end(old, 'SIGTERM')
    },
    stop: () => current?.service.kill('SIGSTOP'),
    resume: () => current?.service.kill('SIGCONT'),
    async state() {
      const exited = all.find(({ exitedBy }) => exitedBy !== null)
      const { openFilesAtFirst = 0, service } = current ?? {}
      const openFiles = await countOpenFiles(service?.pid ?? 0)
      return { name: current?.name ?? name, openFiles, openFilesAtFirst, exitedBy: exited?.exitedBy ?? null }
    },
    output: () => all.map(running => `--- ${running.name}\n${running.service.output()}`).join('\n'),
    async [Symbol.asyncDispose]() {
      await Promise.all(
        all.map(async running => {
          running.isEnding = true
          await running.service[Symbol.asyncDispose]()
        }),
      )
    },
  }
}
