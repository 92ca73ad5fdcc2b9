import { findFreePorts } from './servers/daemon.ts'

/** Finds a port for metrics, which must be known before the service starts. */
export async function findFreePort(): Promise<number> {
  const [port = 0] = await findFreePorts(1)
  return port
}

/** The value of a metric, whose name has its labels if there are any, or NaN. */
export async function readMetric(port: number, name: string): Promise<number> {
  const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text()
  const line = text.split('\n').find(one => one.startsWith(`${name} `))
  return line === undefined ? Number.NaN : Number(line.slice(name.length + 1))
}
