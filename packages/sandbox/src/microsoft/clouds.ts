export const CLOUD_NAMES = ['global', 'gcc-high', 'dod', 'china'] as const
export type CloudName = (typeof CLOUD_NAMES)[number]

/** A Microsoft cloud: its hosts, and the features that it has. */
export interface Cloud {
  readonly name: CloudName
  readonly loginHost: string
  readonly graphHost: string
  /** Host of the URLs of upload sessions; null if the cloud has none. */
  readonly uploadHost: string | null
  /** Name of the sign-in's instance in discovery documents. */
  readonly instance: string
  /** Ending of the hosts that take mail for organizations. */
  readonly mailHost: string
  readonly hasPersonalAccounts: boolean
  readonly has: {
    readonly uploadSessions: boolean
    readonly permanentDelete: boolean
    readonly messageDelta: boolean
    readonly folderDelta: boolean
    readonly contactDelta: boolean
    readonly masterCategories: boolean
    /** Whether a series can list its exceptions and cancelled occurrences. */
    readonly exceptionLists: boolean
  }
}

const ALL = {
  uploadSessions: true,
  permanentDelete: true,
  messageDelta: true,
  folderDelta: true,
  contactDelta: true,
  masterCategories: true,
  exceptionLists: true,
}
const GOVERNMENT = { ...ALL, uploadSessions: false, permanentDelete: false, exceptionLists: false }

export const CLOUDS: Readonly<Record<CloudName, Cloud>> = {
  global: {
    name: 'global',
    loginHost: 'login.microsoftonline.com',
    graphHost: 'graph.microsoft.com',
    uploadHost: 'outlook.office.com',
    instance: 'microsoftonline.com',
    mailHost: 'mail.protection.outlook.com',
    hasPersonalAccounts: true,
    has: ALL,
  },
  'gcc-high': {
    name: 'gcc-high',
    loginHost: 'login.microsoftonline.us',
    graphHost: 'graph.microsoft.us',
    uploadHost: null,
    instance: 'microsoftonline.us',
    mailHost: 'mail.protection.office365.us',
    hasPersonalAccounts: false,
    has: GOVERNMENT,
  },
  dod: {
    name: 'dod',
    loginHost: 'login.microsoftonline.us',
    graphHost: 'dod-graph.microsoft.us',
    uploadHost: null,
    instance: 'microsoftonline.us',
    mailHost: 'mail.protection.office365.us',
    hasPersonalAccounts: false,
    has: GOVERNMENT,
  },
  china: {
    name: 'china',
    loginHost: 'login.partner.microsoftonline.cn',
    graphHost: 'microsoftgraph.chinacloudapi.cn',
    uploadHost: 'partner.outlook.cn',
    instance: 'partner.microsoftonline.cn',
    mailHost: 'mail.protection.partner.outlook.cn',
    hasPersonalAccounts: false,
    has: {
      ...ALL,
      permanentDelete: false,
      messageDelta: false,
      folderDelta: false,
      contactDelta: false,
      masterCategories: false,
      exceptionLists: false,
    },
  },
}

const ALL_CLOUDS: readonly Cloud[] = Object.values(CLOUDS)

/** The clouds whose users sign in at this host: two share one. */
export const cloudsAtLogin = (host: string): Cloud[] =>
  ALL_CLOUDS.filter(({ loginHost }) => loginHost === host)

export const cloudAtGraph = (host: string): Cloud | null =>
  ALL_CLOUDS.find(({ graphHost }) => graphHost === host) ?? null

/** The cloud of a user of Microsoft. */
export function cloudOf({ cloud }: { cloud: string | null }): Cloud {
  const found = ALL_CLOUDS.find(({ name }) => name === cloud)
  if (!found) throw new Error(`Microsoft has no cloud ${cloud}`)
  return found
}
