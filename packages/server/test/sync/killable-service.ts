import { AsyncResource } from 'node:async_hooks'
import { fileURLToPath } from 'node:url'
import { type Caller, callerOf } from '../caller.ts'
import { makePreparedFolder } from '../prepared-folder.ts'
import { type DataFolder, type ServiceProcess, startServiceProcess } from '../service-process.ts'

const PROGRAM = fileURLToPath(new URL('./quick-service.ts', import.meta.url))

/** The service in a process that may be killed at any time. It is started again on the same data. */
export interface KillableService extends AsyncDisposable {
  /** Calls that wait while the service is down, and are repeated once if it dies during them. */
  caller: Caller
  /** Ends the process with SIGKILL at once, and starts it again in the background. */
  kill(): void
  killCount: number
  /** Errors that its processes have logged. */
  errors(): string[]
}

/**
 * @param env further variables of the service
 * @param makeFolder makes the folder of its data; by default with a database
 */
export async function openKillableService(
  env: Record<string, string> = {},
  makeFolder: () => Promise<DataFolder> = makePreparedFolder,
): Promise<KillableService> {
  await using opened = new AsyncDisposableStack()
  const folder = opened.use(await makeFolder())
  const options = {
    program: PROGRAM,
    env: { WAXWING_EGRESS_ALLOW: '127.0.0.1/32', WAXWING_ALLOW_PLAINTEXT: 'true', ...env },
  }
  const first = await startServiceProcess(folder, options)
  const { key } = first
  if (key === null) throw new Error('The first start printed no key')
  let running: Promise<ServiceProcess> = Promise.resolve(first)
  let current: ServiceProcess | null = first
  opened.defer(async () => (await running)[Symbol.asyncDispose]())

  const processes = [first]
  // Bound to the code that opens it: what it starts outlives the test that kills.
  const restart = AsyncResource.bind(async (killed: ServiceProcess) => {
    await killed.ended
    current = await startServiceProcess(folder, options)
    processes.push(current)
    return current
  })
  const call = async <T>(work: (caller: Caller) => Promise<T>): Promise<T> => {
    for (;;) {
      const service = await running
      try {
        return await work(callerOf(service.address, key))
      } catch (error) {
        if ((await running) === service) throw error
      }
    }
  }
  const owned = opened.move()
  const service: KillableService = {
    killCount: 0,
    errors: () =>
      processes.flatMap(process =>
        process
          .output()
          .split('\n')
          .filter(line => line.includes('"level":"error"')),
      ),
    caller: {
      get: path => call(caller => caller.get(path)),
      post: (path, body, headers) => call(caller => caller.post(path, body, headers)),
      patch: (path, body) => call(caller => caller.patch(path, body)),
      put: (path, body) => call(caller => caller.put(path, body)),
      delete: (path, body) => call(caller => caller.delete(path, body)),
    },
    kill() {
      // There is nothing to kill while it starts.
      if (current === null) return
      const killed = current
      current = null
      killed.kill('SIGKILL')
      service.killCount++
      running = restart(killed)
      running.catch(() => {})
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
  return service
}
