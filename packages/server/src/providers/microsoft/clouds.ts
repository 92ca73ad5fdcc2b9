/** A deployment of Microsoft 365 with hosts of its own. */
export type Cloud = 'global' | 'gcc-high' | 'dod' | 'china'

/** The hosts of a cloud, and the functions in which it differs from the others. */
export interface CloudRow {
  cloud: Cloud
  /** Host of the sign-in. */
  login: string
  /** Host of Microsoft Graph. */
  graph: string
  /** Hosts of upload sessions, which get no token. */
  uploads: readonly string[]
  /** The tenant of a sign-in for which none is known. */
  tenant: 'common' | 'organizations'
  hasPersonalAccounts: boolean
  has: {
    uploadSessions: boolean
    permanentDelete: boolean
    messageDelta: boolean
    folderDelta: boolean
    masterCategories: boolean
  }
}

const EVERYTHING = {
  uploadSessions: true,
  permanentDelete: true,
  messageDelta: true,
  folderDelta: true,
  masterCategories: true,
}

/** The clouds (learn.microsoft.com/graph/deployments, read 2026-11-28). */
export const CLOUDS: Readonly<Record<Cloud, CloudRow>> = {
  global: {
    cloud: 'global',
    login: 'login.microsoftonline.com',
    graph: 'graph.microsoft.com',
    uploads: ['outlook.office.com', 'outlook.office365.com'],
    tenant: 'common',
    hasPersonalAccounts: true,
    has: EVERYTHING,
  },
  'gcc-high': {
    cloud: 'gcc-high',
    login: 'login.microsoftonline.us',
    graph: 'graph.microsoft.us',
    uploads: [],
    tenant: 'organizations',
    hasPersonalAccounts: false,
    has: { ...EVERYTHING, uploadSessions: false, permanentDelete: false },
  },
  dod: {
    cloud: 'dod',
    login: 'login.microsoftonline.us',
    graph: 'dod-graph.microsoft.us',
    uploads: [],
    tenant: 'organizations',
    hasPersonalAccounts: false,
    has: { ...EVERYTHING, uploadSessions: false, permanentDelete: false },
  },
  china: {
    cloud: 'china',
    login: 'login.partner.microsoftonline.cn',
    graph: 'microsoftgraph.chinacloudapi.cn',
    uploads: ['partner.outlook.cn'],
    tenant: 'organizations',
    hasPersonalAccounts: false,
    has: {
      ...EVERYTHING,
      permanentDelete: false,
      messageDelta: false,
      folderDelta: false,
      masterCategories: false,
    },
  },
}
