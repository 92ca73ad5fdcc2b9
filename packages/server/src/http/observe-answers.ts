import { Histogram, type Registry } from 'prom-client'
import type { Logger } from '../kit/log.ts'

export interface Answered {
  requestId: string
  /** Empty if the message was refused before its method was read. */
  method: string
  /** The path as declared, with its parameters unfilled, or `NO_ROUTE`. */
  route: string
  status: number
  seconds: number
}
export type ObserveAnswer = (answer: Answered) => void

/** The route of requests to unknown paths, and of messages that are refused before their path is read. */
export const NO_ROUTE = 'none'

/** Logs answers, and counts and times them by route. Never by path: a path holds ids. */
export function observeAnswers(metrics: Registry, log: Logger): ObserveAnswer {
  const answers = new Histogram({
    name: 'waxwing_http_request_seconds',
    help: 'Time to answer a request of the API, by route and status',
    labelNames: ['method', 'route', 'status'],
    buckets: [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10],
    registers: [metrics],
  })
  return ({ requestId, method, route, status, seconds }) => {
    // A client may send any method, and each new one would create a new series.
    answers.observe({ method: KNOWN_METHODS.has(method) ? method : 'other', route, status }, seconds)
    log.debug({ requestId, method, route, status, milliseconds: seconds * 1000 }, 'Answered')
  }
}

const KNOWN_METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])
