import type { CalendarsProvider } from '../../providers/calendars.ts'
import type { CalendarsWriter } from '../../providers/changing-calendars.ts'
import type { ContactsProvider } from '../../providers/contacts.ts'

/** The right to use a server, which others may have to wait for. */
export interface Permits {
  acquire(signal: AbortSignal): Promise<Disposable>
  /** Ends each wait. */
  signal: AbortSignal
}

/** Uses of a server that take a permit each, and give it back at their end. */
function permitted({ acquire, signal }: Permits) {
  async function once<T>(use: () => Promise<T>): Promise<T> {
    using _permit = await acquire(signal)
    return await use()
  }
  /** Gives the permit back before each piece, since its reader may use the server as well. */
  async function* inPieces<T>(use: () => AsyncGenerator<T, void, void>): AsyncGenerator<T, void, void> {
    const pieces = use()
    try {
      for (;;) {
        const piece = await once(() => pieces.next())
        if (piece.done) return
        yield piece.value
      }
    } finally {
      await pieces.return()
    }
  }
  return { once, inPieces }
}

/** Contacts of which each use takes a permit. */
export function permittedContacts(contacts: ContactsProvider, permits: Permits): ContactsProvider {
  const { once, inPieces } = permitted(permits)
  return {
    hasFolders: contacts.hasFolders,
    listFolders: ended => once(() => contacts.listFolders(ended)),
    findChanged: (folders, ended) => once(() => contacts.findChanged(folders, ended)),
    follow: from => inPieces(() => contacts.follow(from)),
    list: (folder, ended) => inPieces(() => contacts.list(folder, ended)),
    read: (keys, ended) => once(() => contacts.read(keys, ended)),
    create: contact => once(() => contacts.create(contact)),
    change: (key, change) => once(() => contacts.change(key, change)),
    remove: key => once(() => contacts.remove(key)),
    readPhoto: (key, ended) => once(() => contacts.readPhoto(key, ended)),
  }
}

/** Calendars of which each use takes a permit. */
export function permittedCalendars(calendars: CalendarsProvider, permits: Permits): CalendarsProvider {
  const { once, inPieces } = permitted(permits)
  const findBusy = calendars.findBusy?.bind(calendars)
  return {
    writer: permittedWriter(calendars.writer, permits),
    ...(findBusy && { findBusy: (...asked: Parameters<typeof findBusy>) => once(() => findBusy(...asked)) }),
    listCalendars: ended => once(() => calendars.listCalendars(ended)),
    findChanged: (asked, ended, mayDefer) => once(() => calendars.findChanged(asked, ended, mayDefer)),
    follow: from => inPieces(() => calendars.follow(from)),
    list: (calendar, window, ended) => inPieces(() => calendars.list(calendar, window, ended)),
    read: (of, ended) => once(() => calendars.read(of, ended)),
  }
}

/** A writer of which each use takes a permit. */
function permittedWriter(writer: CalendarsWriter, permits: Permits): CalendarsWriter {
  const { once } = permitted(permits)
  const takeInvitation = writer.takeInvitation?.bind(writer)
  return {
    // It asks nothing of the server.
    ...(writer.readInvitation && { readInvitation: writer.readInvitation.bind(writer) }),
    ...(takeInvitation && {
      takeInvitation: (...given: Parameters<typeof takeInvitation>) => once(() => takeInvitation(...given)),
    }),
    createCalendar: fields => once(() => writer.createCalendar(fields)),
    changeCalendar: (key, change) => once(() => writer.changeCalendar(key, change)),
    removeCalendar: key => once(() => writer.removeCalendar(key)),
    tellsPeople: (key, ended) => once(() => writer.tellsPeople(key, ended)),
    createEvent: (event, options) => once(() => writer.createEvent(event, options)),
    changeEvent: (asked, options) => once(() => writer.changeEvent(asked, options)),
    requireChangeable: (asked, options) => once(() => writer.requireChangeable(asked, options)),
    removeEvent: (asked, options) => once(() => writer.removeEvent(asked, options)),
    moveEvent: (asked, options) => once(() => writer.moveEvent(asked, options)),
    respond: (asked, options) => once(() => writer.respond(asked, options)),
    findCreated: (asked, ended) => once(() => writer.findCreated(asked, ended)),
  }
}
