import type { Command } from 'commander'
import { describeSettings } from '../config/settings.ts'
import { openLog } from '../kit/log.ts'
import { type Service, startService } from '../main.ts'
import { explain } from './command-error.ts'
import { readProcessConfig } from './connect.ts'

/** Longest wait for requests that are under way. */
const DRAIN_SECONDS = { SIGINT: 5, SIGTERM: 30 } as const
/** Ctrl-C under npm arrives twice: from the terminal, and from npm, which passes it on. */
const SAME_SIGNAL_MILLISECONDS = 1000

export function register(program: Command) {
  program
    .command('serve')
    .description('run the service')
    .addHelpText(
      'after',
      `
Settings, by environment variables:
${settingLines()}

Ctrl-C (SIGINT) waits at most ${DRAIN_SECONDS.SIGINT} seconds for requests under way, SIGTERM ${DRAIN_SECONDS.SIGTERM}; a second signal ends at once.

Examples:
  $ npx waxwing serve
  $ WAXWING_PORT=9000 WAXWING_DATA_DIR=/srv/waxwing npx waxwing serve
  $ DATABASE_URL=postgres://waxwing:…@db/waxwing WAXWING_SECRET_KEY=… npx waxwing serve`,
    )
    .action(serve)
}

async function serve() {
  const config = readProcessConfig()
  const log = openLog({ level: config.logLevel, format: config.logFormat })
  let starting: Promise<Service> | null = null
  let running: Service | null = null

  async function end(drainSeconds: number, exitCode: number) {
    try {
      const service = await starting
      await service?.stop({ drainSeconds })
      process.exit(exitCode)
    } catch (error) {
      log.error({ error }, 'Did not stop cleanly; the next start recovers')
      process.exit(1)
    }
  }

  function fail(error: unknown, message: string) {
    log.error({ error }, message)
    void end(0, 1)
  }

  let firstSignalAt: number | null = null
  function onSignal(signal: 'SIGINT' | 'SIGTERM') {
    if (firstSignalAt === null) {
      firstSignalAt = performance.now()
      log.info({ signal }, 'Stopping')
      void end(DRAIN_SECONDS[signal], 0)
    } else if (performance.now() - firstSignalAt > SAME_SIGNAL_MILLISECONDS) {
      log.warn({ signal }, 'Ending at once')
      void Promise.resolve(running?.abandon()).finally(() => process.exit(1))
    }
  }
  process.on('SIGINT', onSignal)
  process.on('SIGTERM', onSignal)
  process.on('uncaughtException', error => fail(error, 'An error was not caught; ending'))

  starting = startService(config, {
    log,
    print: text => process.stdout.write(text),
    onLost: error => {
      process.stderr.write(`${explain(error)}\n`)
      fail(error, 'The database was lost; ending')
    },
  })
  running = await starting
}

function settingLines() {
  return describeSettings()
    .map(
      ({ name, fallback, meaning }) =>
        `  ${name.padEnd(30)}${meaning}\n${' '.repeat(32)}Default: ${fallback}`,
    )
    .join('\n')
}
