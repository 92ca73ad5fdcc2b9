import type { Message } from '../mailbox/message.ts'

/** Messages that reads by id do not find for a while after a notice of their arrival. */
export interface Absences {
  /** Lets the next reads of a message find nothing. */
  begin(message: Message, reads: number): void
  /** Counts a read of a message; true: it finds nothing. */
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
