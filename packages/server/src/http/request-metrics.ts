import { Histogram, type Registry } from 'prom-client'
import type { AppOptions } from './app.ts'

/** Counts and times answers by route, never by path: a path holds ids. */
export function observeRequests(metrics: Registry): NonNullable<AppOptions['observe']> {
  const answers = new Histogram({
    name: 'waxwing_http_request_seconds',
    help: 'Time to answer a request of the API, by route and status',
    labelNames: ['method', 'route', 'status'],
    buckets: [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10],
    registers: [metrics],
  })
  return ({ method, route, status, seconds }) =>
    // A method is the client's own word, and each new one would be a new series.
    answers.observe({ method: KNOWN_METHODS.has(method) ? method : 'other', route, status }, seconds)
}

const KNOWN_METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])
