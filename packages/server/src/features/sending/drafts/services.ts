import type { Connections } from '../../../connections/connections.ts'
import type { SendServices } from '../accepting/send-message.ts'

export interface DraftServices extends SendServices {
  connections: Connections
}
