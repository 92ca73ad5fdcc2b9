import { afterAll, describe } from 'vitest'
import { arrangeCalendars, CALDAV_SERVERS } from '../../../test/servers/caldav-world.ts'
import { useServer } from '../../../test/servers/shared-server.ts'
import { describeChangingCalendars } from '../conformance/changing-calendars.ts'
import { openFileThread } from './file-thread.ts'

const fileThread = openFileThread()
afterAll(() => fileThread[Symbol.asyncDispose]())

describe.concurrent.each(CALDAV_SERVERS)('$name', ({ name, start, lacks }) => {
  const server = useServer(start)
  describeChangingCalendars(name, () => arrangeCalendars(server(), fileThread, lacks))
})
