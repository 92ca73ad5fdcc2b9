import type { Connections } from '../../../connections/connections.ts'
import type { SendServices } from '../outbox/send.ts'

export interface DraftServices extends SendServices {
  connections: Connections
}
