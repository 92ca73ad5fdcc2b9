import { z } from 'zod'
import { mailServer } from './accounts.ts'
import { operation } from '../operation.ts'
import { emailInput, oauthProvider } from '../shapes.ts'

/** Where the servers were found. The values are in the order of the search. */
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
    smtp: mailServer.nullable().describe('Null if none was found.'),
    oauth: oauthProvider
      .nullable()
      .describe(
        'The provider that offers OAuth sign-in at these servers, besides a password; null if there is none.',
      ),
    dav: foundDav.nullable().describe('Calendars and contacts; null if none were found.'),
  })
  .meta({ id: 'Autoconfig' })

export const autoconfig = {
  find: operation({
    method: 'GET',
    path: '/v1/autoconfig',
    scope: 'read',
    summary: 'Find the mail servers of an address.',
    description:
      'Searches for at most 10 seconds, in this order: the list of known providers, the autoconfig ' +
      'address of the domain, the ISPDB, the SRV records and the MX records of the domain. It does not ' +
      'log in. Servers that the service may not connect to are left out.',
    refuses: ['autodiscovery_failed'],
    query: z.strictObject({ email: emailInput.describe('The address whose servers to find.') }),
    output: foundServers,
  }),
}
