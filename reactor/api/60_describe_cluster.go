// DescribeCluster, versions 0 to 2.
//
//   - Endpoint type 1 (brokers, the default) is served; 2 (controllers, from version 1) is
//     MISMATCHED_ENDPOINT_TYPE (114), any other UNSUPPORTED_ENDPOINT_TYPE (115).
//   - No broker is ever fenced in ZooKeeper mode, so version 2's flag changes nothing.

package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/pelton-broker/pelton/reactor/wire"
)

// Codes that only DescribeCluster answers.
const (
	mismatchedEndpointType  wire.Code = 114
	unsupportedEndpointType wire.Code = 115
)

func (b *Broker) describeCluster(r *Request) {
	req := r.Msg.(*kmsg.DescribeClusterRequest)
	resp := kmsg.NewPtrDescribeClusterResponse()
	resp.EndpointType = 1 // also beside an error
	resp.ClusterAuthorizedOperations = authorizedOperationsUnknown
	switch req.EndpointType {
	case 1:
	case 2:
		resp.ErrorCode, resp.ErrorMessage = int16(mismatchedEndpointType), kmsg.StringPtr("the request was sent to a broker, not to a controller")
		r.Reply(resp)
		return
	default:
		resp.ErrorCode, resp.ErrorMessage = int16(unsupportedEndpointType), kmsg.StringPtr("the endpoint type is not known")
		r.Reply(resp)
		return
	}
	img := b.Image()
	resp.ClusterID, resp.ControllerID = img.ClusterID, img.ControllerID
	for _, id := range sortedBrokers(img) {
		if e := b.endpoint(img.Brokers[id]); e != nil {
			rb := kmsg.NewDescribeClusterResponseBroker()
			rb.NodeID, rb.Host, rb.Port, rb.Rack = id, e.Host, e.Port, img.Brokers[id].Rack
			resp.Brokers = append(resp.Brokers, rb)
		}
	}
	if req.IncludeClusterAuthorizedOperations {
		resp.ClusterAuthorizedOperations = clusterOperations
	}
	r.Reply(resp)
}
