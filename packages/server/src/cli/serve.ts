import type { Command } from 'commander'
import { describeSettings } from '../config/settings.ts'
import { openLog } from '../kit/log.ts'
import { type Service, startService } from '../main.ts'
import { explain } from './command-error.ts'
import { findStarter, readProcessConfig } from './connect.ts'
import { type FirstKeyPlace, welcomeFirst } from './first-start.ts'
import { watchNpmParent } from './npm-parent.ts'

/** Longest wait for requests in progress. */
const DRAIN_SECONDS = { SIGINT: 5, SIGTERM: 30 } as const
/** SIGTERM comes from a supervisor, and load balancers may need time to notice. */
const NOTICE_SECONDS = { SIGINT: 0, SIGTERM: 2 } as const
/** Time to close everything after the drain. The next start cleans up the rest. */
const CLOSE_SECONDS_MAX = 20
/** Ctrl-C under npm arrives twice: from the terminal, and from npm, which passes it on. */
const SAME_SIGNAL_MILLISECONDS = 1000

export function register(program: Command) {
  program
    .command('serve')
    .description('run the service')
    .addHelpText(
      'after',
      `
Settings are environment variables:
${settingLines()}

Ctrl-C (SIGINT) waits at most ${DRAIN_SECONDS.SIGINT} seconds for requests in progress, SIGTERM ${DRAIN_SECONDS.SIGTERM}; a second signal ends at once.

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

  async function end(timing: { drainSeconds: number; noticeSeconds: number }, exitCode: number) {
    const { drainSeconds, noticeSeconds } = timing
    const deadlineSeconds = noticeSeconds + drainSeconds + CLOSE_SECONDS_MAX
    setTimeout(
      () => endAtOnce('Did not stop in time; the next start recovers'),
      deadlineSeconds * 1000,
    ).unref()
    try {
      const service = await starting
      await service?.stop(timing)
      process.exit(exitCode)
    } catch (error) {
      log.error({ error }, 'Did not stop cleanly; the next start recovers')
      process.exit(1)
    }
  }

  function endAtOnce(message: string) {
    log.warn(message)
    void Promise.resolve(running?.abandon()).finally(() => process.exit(1))
  }

  let hasFailed = false
  function fail(error: unknown, message: string) {
    // Errors while everything closes mean nothing new, and logging them could fail in the same way.
    if (hasFailed) return
    hasFailed = true
    log.error({ error }, message)
    void end({ drainSeconds: 0, noticeSeconds: 0 }, 1)
  }

  onStopSignal(
    signal => {
      log.info({ signal }, 'Stopping')
      void end({ drainSeconds: DRAIN_SECONDS[signal], noticeSeconds: NOTICE_SECONDS[signal] }, 0)
    },
    () => endAtOnce('Ending at once'),
    () => log.info('npm, which started this service, has ended'),
  )
  process.on('uncaughtException', error => fail(error, 'An error was not caught; ending'))

  const firstKey: FirstKeyPlace = process.stdout.isTTY
    ? { print: text => process.stdout.write(text) }
    : { folder: config.dataDir, log }
  starting = startService(config, {
    log,
    onRunning: (installation, baseUrl) => welcomeFirst(installation, baseUrl, firstKey),
    onLost: error => {
      process.stderr.write(`${explain(error)}\n`)
      fail(error, 'The database was lost; ending')
    },
  })
  running = await starting
}

/**
 * Distinguishes the first signal from repeated ones, which mean that the user will not wait. The end of the npm that
 * started this process counts as SIGTERM: a signal to npm was meant for the service.
 */
function onStopSignal(
  stop: (signal: keyof typeof DRAIN_SECONDS) => void,
  hurry: () => void,
  onNpmGone: () => void,
) {
  let firstAt: number | null = null
  function receive(signal: keyof typeof DRAIN_SECONDS) {
    if (firstAt === null) {
      firstAt = performance.now()
      stop(signal)
    } else if (performance.now() - firstAt > SAME_SIGNAL_MILLISECONDS) {
      hurry()
    }
  }
  process.on('SIGINT', () => receive('SIGINT'))
  process.on('SIGTERM', () => receive('SIGTERM'))
  const npm = findStarter()
  if (!npm) return
  watchNpmParent(npm, () => {
    if (firstAt !== null) return
    onNpmGone()
    receive('SIGTERM')
  })
}

function settingLines() {
  return describeSettings()
    .map(
      ({ name, fallback, meaning }) =>
        `  ${name.padEnd(30)}${meaning}\n${' '.repeat(32)}Default: ${fallback}`,
    )
    .join('\n')
}
