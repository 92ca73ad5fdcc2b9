import { z } from 'zod'
import { mailServer } from './accounts.ts'
import { operation } from '../operation.ts'
import { emailInput } from '../shapes.ts'

/** Where the servers were found, in the order of the search. */
export const autoconfigSource = z.enum(['provider', 'autoconfig', 'ispdb', 'srv', 'mx'])

const foundDav = z
  .object({
    source: z.enum(['provider', 'srv', 'well_known']),
    calendarUrl: z.string().nullable(),
    contactsUrl: z.string().nullable(),
  })
  .meta({ id: 'AutoconfigDav' })

export const foundServers = z
  .object({
    source: autoconfigSource.describe('Where they were found.'),
    imap: mailServer,
    smtp: mailServer.nullable().describe('Null where none was found.'),
    oauth: z
      .enum(['google', 'microsoft'])
      .nullable()
      .describe('Who signs users in at these servers, where that is possible besides a password.'),
    dav: foundDav.nullable().describe('Calendars and contacts, where any were found.'),
  })
  .meta({ id: 'Autoconfig' })

export const autoconfig = {
  find: operation({
    method: 'GET',
    path: '/v1/autoconfig',
    scope: 'read',
    summary: 'Find the servers of an address.',
    description:
      'Looks, in this order, into the list of known providers, at the autoconfig address of the domain, into the ISPDB, at ' +
      'its SRV records and at its MX records, for at most 10 seconds. Nobody is logged in to. Servers that may not be ' +
      'connected to are left out.',
    refuses: ['autodiscovery_failed'],
    query: z.strictObject({ email: emailInput.describe('Whose servers are looked for.') }),
    output: foundServers,
  }),
}
