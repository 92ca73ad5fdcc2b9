/**
 * The table of contents of the documentation site, in its order. A page is a file below `docs/`, without `.md`: those of
 * `jobs/` are served below `/docs/jobs/`, all others below `/docs/guides/`. Files that are not listed are not shown.
 */
export const CONTENTS: readonly { section: string; pages: readonly string[] }[] = [
  { section: 'Start', pages: ['sdk', 'sandbox', 'authentication'] },
  { section: 'Jobs', pages: [] },
  {
    section: 'Concepts',
    pages: ['change-feed', 'pagination', 'idempotency', 'errors', 'limits', 'integrity'],
  },
  {
    section: 'Guides',
    pages: [
      'connect',
      'autoconfig',
      'shared-mailboxes',
      'gmail',
      'reading-mail',
      'searching',
      'changing-mail',
      'identities',
      'drafts',
      'sending',
      'templates',
      'mail-merge',
      'tracking',
      'bounces',
      'suppressions',
      'classification',
      'contacts',
      'calendars',
      'availability',
      'webhooks',
    ],
  },
  {
    section: 'Operating',
    pages: [
      'deploying',
      'configuration',
      'operations',
      'commands',
      'backup',
      'scaling',
      'google-app',
      'microsoft-app',
      'tokens',
      'plans',
      'usage',
      'audit-log',
      'nemesis',
    ],
  },
  /** The pages of operations, schemas, reasons, events, settings and commands are made from the sources and follow these. */
  { section: 'Reference', pages: [] },
  { section: 'Coming from', pages: [] },
]
