export interface Progress {
  /** Adds bytes of the named part. */
  tell(part: string, bytes: number): void
}

const TELL_SECONDS = 5
const MEGABYTE = 1024 * 1024

/** Prints the progress of long work at intervals. */
export function showProgress(print: (line: string) => void): Progress {
  let toldAt = performance.now()
  let total = 0
  return {
    tell(part, bytes) {
      total += bytes
      if (performance.now() - toldAt < TELL_SECONDS * 1000) return
      toldAt = performance.now()
      print(`${part}: ${Math.round(total / MEGABYTE)} MB so far`)
    },
  }
}
