import type { Cloud } from '../sign-in.ts'

/**
 * One of Microsoft's clouds: its hosts, and what its Graph lacks. Code asks for an ability and never names a cloud.
 *
 * learn.microsoft.com/graph/deployments has the hosts. The abilities are those of each cloud's published schema, of
 * which `csdl-extract.json` is an extract.
 */
export interface CloudRow {
  cloud: Cloud
  /** The host where users and apps sign in. */
  login: string
  /** The host of Graph, and of the scopes. */
  graph: string
  /** Hosts of upload sessions. Requests to them carry no token. */
  uploads: readonly string[]
  /** Users that may sign in: of any kind (`common`), or of organizations alone. */
  tenant: 'common' | 'organizations'
  hasPersonalAccounts: boolean
  has: {
    /** Uploading large attachments in parts. */
    uploadSessions: boolean
    /** Deleting a message so that its user cannot restore it. */
    permanentDelete: boolean
    /** Changes of the messages of a folder since an earlier answer. */
    messageDelta: boolean
    /** Changes of the folders of a mailbox since an earlier answer. */
    folderDelta: boolean
    /** Changes of the contacts of a folder since an earlier answer. */
    contactDelta: boolean
    /** The list of a mailbox's categories. */
    masterCategories: boolean
  }
}

const EVERYTHING: CloudRow['has'] = {
  uploadSessions: true,
  permanentDelete: true,
  messageDelta: true,
  folderDelta: true,
  contactDelta: true,
  masterCategories: true,
}
/** The two clouds of the government of the United States share a login host, and one schema. */
const GOVERNMENT = {
  login: 'login.microsoftonline.us',
  uploads: [],
  tenant: 'organizations',
  hasPersonalAccounts: false,
  has: { ...EVERYTHING, uploadSessions: false, permanentDelete: false },
} as const

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
  'gcc-high': { ...GOVERNMENT, cloud: 'gcc-high', graph: 'graph.microsoft.us' },
  dod: { ...GOVERNMENT, cloud: 'dod', graph: 'dod-graph.microsoft.us' },
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
      contactDelta: false,
      masterCategories: false,
    },
  },
}
