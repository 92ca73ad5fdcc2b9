import type { Message } from '../mailbox/message.ts'

/** Counts of reads by id that do not find a message after a notice of its arrival. */
export interface Absences {
  /** Hides a message from this many reads. */
  begin(message: Message, reads: number): void
  /** Counts a read of a message. Returns whether it finds nothing. */
  read(message: Message): boolean
}

export function openAbsences(): Absences {
  const left = new WeakMap<Message, number>()
  return {
    begin: (message, reads) => void (reads > 0 && left.set(message, reads)),
    read(message) {
      const reads = left.get(message) ?? 0
      if (reads > 0) left.set(message, reads - 1)
      return reads > 0
    },
  }
}
