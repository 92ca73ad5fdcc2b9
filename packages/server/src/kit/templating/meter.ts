import { ITERATIONS_MAX, OUTPUT_BYTES_MAX, RENDER_MS_MAX } from './template.ts'

/** Thrown when rendering exceeds a bound. The message names it. */
export class BoundExceeded extends Error {
  override name = 'BoundExceeded'
}

/** Reading the time costs as much as rendering a short value. */
const TICKS_PER_LOOK = 64

// The thread is locked before it renders, and `process` is gone then.
const { threadCpuUsage } = process

/** Counts what one render takes, and throws `BoundExceeded`. */
export interface RenderMeter {
  /** One more run of the body of a loop. */
  iterate(): void
  /** A value or the output of a block of this length was written. */
  wrote(length: number): void
  /** Renders without counting loops: those of the same template have been counted. */
  again<T>(render: () => T): T
}

export function startMeter(): RenderMeter {
  const begun = threadCpuUsage()
  let iterations = 0
  let ticks = 0
  const tick = () => {
    if (++ticks % TICKS_PER_LOOK !== 0) return
    const { user, system } = threadCpuUsage(begun)
    if ((user + system) / 1000 > RENDER_MS_MAX) throw new BoundExceeded('takes more than a second')
  }
  return {
    iterate() {
      if (++iterations > ITERATIONS_MAX) throw new BoundExceeded(`has more than ${ITERATIONS_MAX} iterations`)
      tick()
    },
    wrote(length) {
      if (length > OUTPUT_BYTES_MAX) throw new BoundExceeded('renders more than 2 MiB')
      tick()
    },
    again(render) {
      const before = iterations
      iterations = 0
      const result = render()
      iterations = before
      return result
    },
  }
}
