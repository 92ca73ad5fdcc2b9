import { readProcessConfig } from '../src/cli/connect.ts'
import { welcomeFirst } from '../src/cli/first-start.ts'
import { openLog } from '../src/kit/log.ts'
import { type Service, type ServiceOptions, startService } from '../src/main.ts'

/** Runs the service like `waxwing serve`, for a program of tests that changes some of its options. */
export function runService({
  log = openLog({ level: 'debug', format: 'json' }),
  ...options
}: Partial<Omit<ServiceOptions, 'onRunning'>>): Promise<Service> {
  const config = readProcessConfig()
  return startService(config, {
    ...options,
    log,
    onRunning: (installation, baseUrl) =>
      welcomeFirst(installation, baseUrl, { folder: config.dataDir, log }),
  })
}
