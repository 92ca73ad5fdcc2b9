import type { Config } from '../../config.ts'
import { type Finding, ok, warning } from './finding.ts'

const ANSWER_SECONDS = 3

/** Whether a service runs on this machine, as its metrics port tells. */
export async function checkService({ metricsPort }: Config): Promise<Finding> {
  if (metricsPort === 0) return ok('service', 'Not looked for: WAXWING_METRICS_PORT is 0.')
  const url = `http://127.0.0.1:${metricsPort}/health/ready`
  const status = await fetch(url, { signal: AbortSignal.timeout(ANSWER_SECONDS * 1000), redirect: 'manual' })
    .then(answer => answer.status)
    .catch((error: unknown) => (isRefused(error) ? null : 0))
  if (status === null) return ok('service', 'Does not run on this machine now.')
  if (status === 200) return ok('service', 'Runs on this machine, and is ready.')
  if (status === 503) {
    return warning('service', 'Runs on this machine, and is not ready.', 'Read its log: it says why.')
  }
  return warning(
    'service',
    `127.0.0.1:${metricsPort} is used by another program.`,
    'Set WAXWING_METRICS_PORT to a port of its own.',
  )
}

function isRefused(error: unknown): boolean {
  const cause = error instanceof Error ? error.cause : null
  return cause instanceof Error && 'code' in cause && cause.code === 'ECONNREFUSED'
}
